! V-cycles for a Poisson equation on n x n x n cells, n = 4 * 2^k; levels are objects with allocatable arrays, in an array of a
! derived type, passed on by descriptors.
!
! Plain division: p1 x p2 x p3 blocks of cells on each level; as in two dimensions (multigrid2d.c): vcycle_words.
module grids
  implicit none
  type level
    real(8), allocatable :: u(:, :, :)
    real(8), allocatable :: v(:, :, :)
    real(8), allocatable :: f(:, :, :)
  end type
contains
  subroutine smooth(from, f, to)
    real(8), intent(in) :: from(0:, 0:, 0:), f(0:, 0:, 0:)
    real(8), intent(inout) :: to(0:, 0:, 0:)
    integer :: i, j, k, n
    n = ubound(from, 1) - 1
    do k = 1, n
      do j = 1, n
        do i = 1, n
          to(i, j, k) = 0.1d0 * from(i, j, k) + 0.15d0 * (f(i, j, k) + from(i - 1, j, k) + from(i + 1, j, k) &
            + from(i, j - 1, k) + from(i, j + 1, k) + from(i, j, k - 1) + from(i, j, k + 1))
        end do
      end do
    end do
  end subroutine
  subroutine restrict(v, f, below, start)
    real(8), intent(in) :: v(0:, 0:, 0:), f(0:, 0:, 0:)
    real(8), intent(inout) :: below(0:, 0:, 0:), start(0:, 0:, 0:)
    real(8) :: total
    integer :: i, j, k, a, b, c
    do k = 1, ubound(below, 3) - 1
      do j = 1, ubound(below, 2) - 1
        do i = 1, ubound(below, 1) - 1
          total = 0.0d0
          do c = 2 * k - 1, 2 * k
            do b = 2 * j - 1, 2 * j
              do a = 2 * i - 1, 2 * i
                total = total + f(a, b, c) - 6.0d0 * v(a, b, c) + v(a - 1, b, c) + v(a + 1, b, c) &
                  + v(a, b - 1, c) + v(a, b + 1, c) + v(a, b, c - 1) + v(a, b, c + 1)
              end do
            end do
          end do
          below(i, j, k) = total
          start(i, j, k) = 0.0d0
        end do
      end do
    end do
  end subroutine
  subroutine correct(above, v)
    real(8), intent(in) :: above(0:, 0:, 0:)
    real(8), intent(inout) :: v(0:, 0:, 0:)
    integer :: i, j, k
    do k = 1, ubound(v, 3) - 1
      do j = 1, ubound(v, 2) - 1
        do i = 1, ubound(v, 1) - 1
          v(i, j, k) = v(i, j, k) + above((i + 1) / 2, (j + 1) / 2, (k + 1) / 2)
        end do
      end do
    end do
  end subroutine
  subroutine kernel(l, cycles)
    type(level), intent(inout) :: l(:)
    integer, intent(in) :: cycles
    integer :: c, s
    do c = 1, cycles
      do s = 1, size(l) - 1
        call smooth(l(s)%u, l(s)%f, l(s)%v)
        call restrict(l(s)%v, l(s)%f, l(s + 1)%f, l(s + 1)%u)
      end do
      s = size(l)
      call smooth(l(s)%u, l(s)%f, l(s)%v)
      l(s)%u = l(s)%v
      do s = size(l) - 1, 1, -1
        call correct(l(s + 1)%u, l(s)%v)
        call smooth(l(s)%v, l(s)%f, l(s)%u)
      end do
    end do
  end subroutine
end module
program multigrid3d
  use grids
  implicit none
  type(level), allocatable :: l(:)
  integer :: n, cycles, levels, s, m, i, j, k
  character(len=16) :: text
  call get_command_argument(1, text)
  read (text, *) n
  call get_command_argument(2, text)
  read (text, *) cycles
  levels = 1
  do while (n / 2**levels >= 4)
    levels = levels + 1
  end do
  allocate (l(levels))
  do s = 1, levels
    m = n / 2**(s - 1)
    allocate (l(s)%u(0:m + 1, 0:m + 1, 0:m + 1))
    allocate (l(s)%v(0:m + 1, 0:m + 1, 0:m + 1))
    allocate (l(s)%f(0:m + 1, 0:m + 1, 0:m + 1))
    l(s)%u = 0.0d0
    l(s)%v = 0.0d0
    l(s)%f = 0.0d0
  end do
  do k = 1, n
    do j = 1, n
      do i = 1, n
        l(1)%f(i, j, k) = mod(i + 2 * j + 3 * k, 7)
      end do
    end do
  end do
  call kernel(l, cycles)
  print '(es18.10)', sum(l(1)%u)
end program
