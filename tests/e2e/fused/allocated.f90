program heat
  implicit none
  integer, parameter :: dp = kind(1d0)
  real(dp), allocatable :: u(:, :), w(:, :), hist(:, :)
  integer, parameter :: n = 12, steps = 5
  allocate (u(0:n+1, 0:n+1), w(0:n+1, 0:n+1), hist(2, steps))
  u = 0; w = 0
  u(:, 0) = 1; w(:, 0) = 1
  call relax(n, u, w, steps, hist)
  print *, hist
contains
  subroutine relax(n, u, w, steps, hist)
    integer, intent(in) :: n, steps
    real(dp), intent(inout) :: u(0:n+1, 0:n+1), w(0:n+1, 0:n+1)
    real(dp), intent(out) :: hist(2, steps)
    real(dp) :: d, most
    integer :: i, j, t
    do t = 1, steps
      d = 0
      most = 0
      do j = 1, n
        do i = 1, n
          w(i, j) = 0.2_dp * (u(i, j) + u(i-1, j) + u(i+1, j) + u(i, j-1) + u(i, j+1))
          d = d + (w(i, j) - u(i, j))**2
          most = max(most, abs(w(i, j) - u(i, j)))
        end do
      end do
      u = w
      hist(1, t) = d
      hist(2, t) = most
    end do
  end subroutine
end program
