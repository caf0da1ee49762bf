program rotations
  use tables
  implicit none
  integer :: i
  u = (/ (real(mod(7 * i, 31), wp), i = 1, n) /)
  call turn(3)
  call tabulate
end program rotations
