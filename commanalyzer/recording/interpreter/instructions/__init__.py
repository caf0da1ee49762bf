"""Instructions that compute: data in, data and labels out."""
