module bodies
  ! Bodies on a line, each pulled by its neighbours: derived types whose components are arrays.
  implicit none
  integer, parameter :: wp = kind(1d0), number = 64
  type body
    real(wp) :: place(3) = 0
    real(wp) :: speed(3) = 0
    real(wp) :: force(3) = 0
  end type body
  type(body) :: chain(number)
contains
  elemental function pull(a, b) result(force)
    real(wp), intent(in) :: a, b
    real(wp) :: force
    force = 0.5_wp * (b - a)
  end function pull

  pure subroutine push(one, step)
    type(body), intent(inout) :: one
    real(wp), intent(in) :: step
    integer :: k
    do k = 1, 3
      one%speed(k) = one%speed(k) + step * one%force(k)
      one%place(k) = one%place(k) + step * one%speed(k)
    end do
  end subroutine push
end module bodies
