      BLOCK DATA VALUES
      INCLUDE 'grid.inc'
      DATA N, NSTEP /34, 4/
      DATA OMEGA /0.25D0/
      END
