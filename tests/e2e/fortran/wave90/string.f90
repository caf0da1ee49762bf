module string
  ! A string under tension: module variables and array syntax.
  use kinds
  implicit none
  private
  real(real_kind), allocatable, public :: before(:), now(:), after(:)
  public :: tune, pluck, vibrate, release
  real(real_kind) :: courant = 0.25_real_kind
contains
  subroutine tune(points, number)
    integer, intent(in) :: points
    real(real_kind), intent(in), optional :: number
    integer :: status
    if (present(number)) courant = number
    allocate (before(points), now(points), after(points), stat=status)
    if (status /= 0) stop 'no memory'
  end subroutine tune

  subroutine pluck(at)
    integer, intent(in) :: at
    integer :: i
    do i = 1, size(before)
      before(i) = min(i, 2 * at - i)
    end do
    where (before < 0) before = 0
    now = before
    after = 0
  end subroutine pluck

  subroutine vibrate(steps)
    integer, intent(in) :: steps
    integer :: step, last
    last = size(now) - 1
    do step = 1, steps
      after(2:last) = 2 * now(2:last) - before(2:last) &
        + courant * (now(1:last-1) - 2 * now(2:last) + now(3:last+1))
      before = now
      now = after
    end do
  end subroutine vibrate

  subroutine release
    if (allocated(now)) deallocate (before, now, after)
  end subroutine release
end module string
