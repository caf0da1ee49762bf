module cycles
  use levels
  implicit none
contains
  subroutine relax(u, f, n, sweeps)
    integer, intent(in) :: n, sweeps
    real(wp), intent(inout) :: u(0:n)
    real(wp), intent(in) :: f(0:n)
    integer :: i, sweep
    do sweep = 1, sweeps
      do i = 1, n - 1, 2
        u(i) = 0.5_wp * (u(i - 1) + u(i + 1) + f(i))
      end do
      do i = 2, n - 1, 2
        u(i) = 0.5_wp * (u(i - 1) + u(i + 1) + f(i))
      end do
    end do
  end subroutine relax

  recursive subroutine descend(grid, k)
    type(level), intent(inout) :: grid(:)
    integer, intent(in) :: k
    integer :: i
    call relax(grid(k)%u, grid(k)%f, grid(k)%points, 2)
    if (k == size(grid)) return
    associate (here => grid(k), below => grid(k + 1))
      do i = 1, here%points - 1
        here%r(i) = here%f(i) - 2 * here%u(i) + here%u(i - 1) + here%u(i + 1)
      end do
      do i = 1, below%points - 1
        below%f(i) = here%r(2 * i - 1) + 2 * here%r(2 * i) + here%r(2 * i + 1)
      end do
      below%u = 0
      call descend(grid, k + 1)
      do i = 1, below%points - 1
        here%u(2 * i) = here%u(2 * i) + below%u(i)
      end do
      do i = 1, here%points - 1, 2
        here%u(i) = here%u(i) + 0.5_wp * (below%u(i / 2) + below%u(i / 2 + 1))
      end do
    end associate
    call relax(grid(k)%u, grid(k)%f, grid(k)%points, 1)
  end subroutine descend
end module cycles
