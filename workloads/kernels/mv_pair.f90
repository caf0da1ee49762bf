! x1 = x1 + A y1 and x2 = x2 + A^T y2 with A n x n; allocatable arrays of a derived type.
!
! Plain division: blocks of A on a grid p1 x p2. y1 is sent down the columns of the grid and x2 combined there, y2 is
! sent along its rows and x1 combined there: 16 n (p1 + p2 - 2).
module pair
  implicit none
  type system
    real(8), allocatable :: a(:, :)
    real(8), allocatable :: x1(:), x2(:), y1(:), y2(:)
  end type
contains
  subroutine kernel(s)
    type(system), intent(inout) :: s
    integer :: i, j
    do j = 1, size(s%a, 2)
      do i = 1, size(s%a, 1)
        s%x1(i) = s%x1(i) + s%a(i, j) * s%y1(j)
      end do
    end do
    do j = 1, size(s%a, 2)
      do i = 1, size(s%a, 1)
        s%x2(j) = s%x2(j) + s%a(i, j) * s%y2(i)
      end do
    end do
  end subroutine
end module
program mv_pair
  use pair
  implicit none
  type(system) :: s
  character(len=16) :: text
  integer :: n, i, j
  call get_command_argument(1, text)
  read (text, *) n
  allocate (s%a(n, n))
  allocate (s%x1(n))
  allocate (s%x2(n))
  allocate (s%y1(n))
  allocate (s%y2(n))
  do j = 1, n
    s%x1(j) = mod(j, 3)
    s%x2(j) = mod(j, 4)
    s%y1(j) = mod(j, 5)
    s%y2(j) = mod(j, 7)
    do i = 1, n
      s%a(i, j) = mod(i * j, n) / dble(n)
    end do
  end do
  call kernel(s)
  print '(es18.10)', sum(s%x1) + sum(s%x2)
end program
