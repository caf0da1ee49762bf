! Seven-point stencil on n x m x l inner points, two arrays in turn; allocatable arrays with bounds from 0.
!
! Plain division: p1 x p2 x p3 blocks. A half step sends one layer each way over each cut:
! 8 * 2 t * 2 (m l (p1 - 1) + n l (p2 - 1) + n m (p3 - 1)).
module heat
  implicit none
contains
  subroutine kernel(u, v, t)
    real(8), intent(inout) :: u(0:, 0:, 0:), v(0:, 0:, 0:)
    integer, intent(in) :: t
    integer :: s
    do s = 1, t
      call half(u, v)
      call half(v, u)
    end do
  end subroutine
  subroutine half(from, to)
    real(8), intent(in) :: from(0:, 0:, 0:)
    real(8), intent(inout) :: to(0:, 0:, 0:)
    integer :: i, j, k
    do k = 1, ubound(to, 3) - 1
      do j = 1, ubound(to, 2) - 1
        do i = 1, ubound(to, 1) - 1
          to(i, j, k) = 0.4d0 * from(i, j, k) + 0.1d0 * (from(i - 1, j, k) + from(i + 1, j, k) &
            + from(i, j - 1, k) + from(i, j + 1, k) + from(i, j, k - 1) + from(i, j, k + 1))
        end do
      end do
    end do
  end subroutine
end module
program heat3d
  use heat
  implicit none
  real(8), allocatable :: u(:, :, :), v(:, :, :)
  integer :: extent(4), i, j, k
  character(len=16) :: text
  do i = 1, 4
    call get_command_argument(i, text)
    read (text, *) extent(i)
  end do
  allocate (u(0:extent(1) + 1, 0:extent(2) + 1, 0:extent(3) + 1))
  allocate (v(0:extent(1) + 1, 0:extent(2) + 1, 0:extent(3) + 1))
  do k = 0, extent(3) + 1
    do j = 0, extent(2) + 1
      do i = 0, extent(1) + 1
        u(i, j, k) = mod(i + j * 3 + k * 5, 10)
        v(i, j, k) = u(i, j, k)
      end do
    end do
  end do
  call kernel(u, v, extent(4))
  print '(es18.10)', sum(u)
end program
