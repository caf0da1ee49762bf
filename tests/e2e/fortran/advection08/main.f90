program advection
  use transport
  implicit none
  integer :: n = 24, steps = 3, i, j
  character(len=16) :: word
  if (command_argument_count() >= 1) then
    call get_command_argument(1, word)
    read (word, *) n
  end if
  if (n < 4) error stop 2
  allocate (field(n, n))
  block
    real(real64) :: centre
    centre = n / 2
    do concurrent (i = 1:n, j = 1:n)
      field(i, j) = exp(-((i - centre)**2 + (j - centre)**2) / n)
    end do
  end block
  call advect(field, steps)
  write (*, '(*(g0.8, 1x))') 'mass', mass(field), field(n / 2, n / 2), floor(100 * field(3, 4)), nint(mass(field))
end program advection
