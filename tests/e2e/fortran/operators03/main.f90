program operators
  use beams
  implicit none
  class(linear_operator), allocatable :: a
  class(linear_operator), pointer :: other
  type(identity), target :: same
  character(len=:), allocatable :: text
  integer :: i, n
  n = 64
  if (command_argument_count() > 0) n = 32
  allocate (x(n), y(n))
  x = [(sin(0.1_dp * i), i = 1, n)]
  y = 0
  allocate (a, source=new_beam(n))
  call iterate(a, 3)
  same%points = n
  other => same
  call other%apply(x, y)
  select type (a)
  type is (beam)
    print '(a, f10.4)', 'beam', sum(a%stiffness)
  class default
    error stop 'not a beam'
  end select
  call a%describe(text)
  print '(a, a, f14.8)', text, ': ', norm2(y)
  deallocate (a)
  if (forgotten < 1) error stop
end program operators
