subroutine smooth(x, y, n, sweeps)
  implicit none
  integer, intent(in) :: n, sweeps
  double precision, intent(inout) :: x(n), y(n)
  integer :: i, sweep
  do sweep = 1, sweeps
    do i = 2, n - 1
      y(i) = 0.25d0 * x(i - 1) + 0.5d0 * x(i) + 0.25d0 * x(i + 1)
    end do
    do i = 2, n - 1
      x(i) = y(i)
    end do
  end do
end subroutine smooth
