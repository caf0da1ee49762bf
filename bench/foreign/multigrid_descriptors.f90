! V-cycles in three dimensions: levels are components of a derived type, kernels take assumed-shape arrays.
module grids
  implicit none
  integer, parameter :: dp = kind(1d0)
  type level
    integer :: n
    real(dp), allocatable :: u(:, :, :), f(:, :, :), r(:, :, :)
  end type level
contains
  subroutine smooth(u, f, n)
    integer, intent(in) :: n
    real(dp), intent(inout) :: u(0:, 0:, 0:)
    real(dp), intent(in) :: f(0:, 0:, 0:)
    integer :: i, j, k
    real(dp) :: h2
    h2 = 1d0 / real(n + 1, dp)**2
    do k = 1, n
      do j = 1, n
        do i = 1, n
          u(i, j, k) = (u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) + u(i, j + 1, k) &
            + u(i, j, k - 1) + u(i, j, k + 1) + h2 * f(i, j, k)) / 6d0
        end do
      end do
    end do
  end subroutine smooth

  subroutine residual(r, u, f, n)
    integer, intent(in) :: n
    real(dp), intent(inout) :: r(0:, 0:, 0:)
    real(dp), intent(in) :: u(0:, 0:, 0:), f(0:, 0:, 0:)
    integer :: i, j, k
    real(dp) :: ih2
    ih2 = real(n + 1, dp)**2
    do k = 1, n
      do j = 1, n
        do i = 1, n
          r(i, j, k) = f(i, j, k) + ih2 * (u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) &
            + u(i, j + 1, k) + u(i, j, k - 1) + u(i, j, k + 1) - 6d0 * u(i, j, k))
        end do
      end do
    end do
  end subroutine residual

  subroutine restrict(f, r, n)
    integer, intent(in) :: n
    real(dp), intent(inout) :: f(0:, 0:, 0:)
    real(dp), intent(in) :: r(0:, 0:, 0:)
    integer :: i, j, k
    do k = 1, n
      do j = 1, n
        do i = 1, n
          f(i, j, k) = 0.5d0 * r(2 * i, 2 * j, 2 * k) + (r(2 * i - 1, 2 * j, 2 * k) + r(2 * i + 1, 2 * j, 2 * k) &
            + r(2 * i, 2 * j - 1, 2 * k) + r(2 * i, 2 * j + 1, 2 * k) + r(2 * i, 2 * j, 2 * k - 1) &
            + r(2 * i, 2 * j, 2 * k + 1)) / 12d0
        end do
      end do
    end do
  end subroutine restrict

  subroutine prolong(u, e, n)
    integer, intent(in) :: n
    real(dp), intent(inout) :: u(0:, 0:, 0:)
    real(dp), intent(in) :: e(0:, 0:, 0:)
    integer :: k
    do k = 1, n
      u(2:2 * n:2, 2:2 * n:2, 2 * k) = u(2:2 * n:2, 2:2 * n:2, 2 * k) + e(1:n, 1:n, k)
      u(3:2 * n + 1:2, 2:2 * n:2, 2 * k) = u(3:2 * n + 1:2, 2:2 * n:2, 2 * k) + 0.5d0 * (e(1:n, 1:n, k) + e(2:n + 1, 1:n, k))
      u(2:2 * n:2, 3:2 * n + 1:2, 2 * k) = u(2:2 * n:2, 3:2 * n + 1:2, 2 * k) + 0.5d0 * (e(1:n, 1:n, k) + e(1:n, 2:n + 1, k))
      u(2:2 * n:2, 2:2 * n:2, 2 * k + 1) = u(2:2 * n:2, 2:2 * n:2, 2 * k + 1) + 0.5d0 * (e(1:n, 1:n, k) + e(1:n, 1:n, k + 1))
    end do
  end subroutine prolong

  recursive subroutine cycle_from(levels, first)
    type(level), intent(inout) :: levels(:)
    integer, intent(in) :: first
    integer :: s
    if (first == size(levels)) then
      do s = 1, 10
        call smooth(levels(first)%u, levels(first)%f, levels(first)%n)
      end do
      return
    end if
    do s = 1, 2
      call smooth(levels(first)%u, levels(first)%f, levels(first)%n)
    end do
    call residual(levels(first)%r, levels(first)%u, levels(first)%f, levels(first)%n)
    call restrict(levels(first + 1)%f, levels(first)%r, levels(first + 1)%n)
    levels(first + 1)%u = 0d0
    call cycle_from(levels, first + 1)
    call prolong(levels(first)%u, levels(first + 1)%u, levels(first + 1)%n)
    do s = 1, 2
      call smooth(levels(first)%u, levels(first)%f, levels(first)%n)
    end do
  end subroutine cycle_from
end module grids

program multigrid
  use grids
  implicit none
  type(level), allocatable :: levels(:)
  integer :: depth, cycles, l, n, i, c
  character(len=20) :: word
  depth = 6
  cycles = 5
  if (command_argument_count() >= 1) then
    call get_command_argument(1, word)
    read (word, *) depth
  end if
  if (command_argument_count() >= 2) then
    call get_command_argument(2, word)
    read (word, *) cycles
  end if
  allocate (levels(depth - 1))
  do l = 1, depth - 1
    n = 2**(depth - l + 1) - 1
    levels(l)%n = n
    allocate (levels(l)%u(0:n + 1, 0:n + 1, 0:n + 1), levels(l)%f(0:n + 1, 0:n + 1, 0:n + 1))
    allocate (levels(l)%r(0:n + 1, 0:n + 1, 0:n + 1))
    levels(l)%u = 0d0
    levels(l)%f = 0d0
    levels(l)%r = 0d0
  end do
  do i = 1, levels(1)%n
    levels(1)%f(i, :, :) = 0.01d0 * i
  end do
  do c = 1, cycles
    call cycle_from(levels, 1)
  end do
  n = levels(1)%n
  print '(es18.10)', levels(1)%u(n / 2, n / 3, n / 2)
end program multigrid
