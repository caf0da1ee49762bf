! Three products in a row, G = (A B)(C D): A is n x k, B k x m, C m x l, D l x o; E = A B is n x m, F = C D
! m x o, G = E F n x o; allocatable arrays, columns contiguous.
!
! Plain division: p1 x p2 blocks of E, F and G. A goes to the p2 blocks of its row, B to the p1 of its column, C
! and D alike for F, then E to the p2 blocks of its row of G, F to the p1 of its column:
! 8 ((n k + m l + n m)(p2 - 1) + (k m + l o + m o)(p1 - 1)).
module products
  implicit none
contains
  subroutine kernel(e, a, b, f, c, d, g)
    real(8), intent(inout) :: e(:, :), f(:, :), g(:, :)
    real(8), intent(in) :: a(:, :), b(:, :), c(:, :), d(:, :)
    call multiply(e, a, b)
    call multiply(f, c, d)
    call multiply(g, e, f)
  end subroutine
  subroutine multiply(z, x, y)
    real(8), intent(inout) :: z(:, :)
    real(8), intent(in) :: x(:, :), y(:, :)
    integer :: i, j, k
    do j = 1, size(z, 2)
      do i = 1, size(z, 1)
        z(i, j) = 0.0d0
      end do
      do k = 1, size(x, 2)
        do i = 1, size(z, 1)
          z(i, j) = z(i, j) + x(i, k) * y(k, j)
        end do
      end do
    end do
  end subroutine
end module
program gemm3
  use products
  implicit none
  real(8), allocatable :: a(:, :), b(:, :), c(:, :), d(:, :), e(:, :), f(:, :), g(:, :)
  integer :: extent(5), i, j
  character(len=16) :: text
  do i = 1, 5
    call get_command_argument(i, text)
    read (text, *) extent(i)
  end do
  allocate (a(extent(1), extent(3)))
  allocate (b(extent(3), extent(2)))
  allocate (c(extent(2), extent(4)))
  allocate (d(extent(4), extent(5)))
  allocate (e(extent(1), extent(2)))
  allocate (f(extent(2), extent(5)))
  allocate (g(extent(1), extent(5)))
  forall (i = 1:extent(1), j = 1:extent(3)) a(i, j) = mod(i * j, 7)
  forall (i = 1:extent(3), j = 1:extent(2)) b(i, j) = mod(i + j, 5)
  forall (i = 1:extent(2), j = 1:extent(4)) c(i, j) = mod(i * 3 + j, 5)
  forall (i = 1:extent(4), j = 1:extent(5)) d(i, j) = mod(i + j * 2, 3)
  call kernel(e, a, b, f, c, d, g)
  print '(es18.10)', sum(g)
end program
