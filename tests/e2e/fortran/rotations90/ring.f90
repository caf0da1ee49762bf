module ring
  implicit none
  integer, parameter :: wp = kind(0d0), n = 64
  real(wp) :: u(n)
contains
  subroutine turn(steps)
    integer, intent(in) :: steps
    integer :: step
    do step = 1, steps
      u = 0.5_wp * (cshift(u, 1) + cshift(u, -1))
    end do
  end subroutine turn
end module ring
