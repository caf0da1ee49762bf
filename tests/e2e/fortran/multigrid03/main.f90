program multigrid
  use cycles
  implicit none
  type(hierarchy) :: first, second
  integer :: i
  call first%build(64, 4)
  first%grid(1)%f(1:63) = [(sin(0.1_wp * i), i = 1, 63)]
  second = first
  do i = 1, 3
    call descend(second%grid, 1)
  end do
  print '(2(a, 1x), 2f14.8)', first%name, second%name, sum(second%grid(1)%u), maxval(abs(first%grid(1)%u))
end program multigrid
