module transport
  use, intrinsic :: iso_fortran_env, only: real64, error_unit
  implicit none
  real(real64), allocatable :: field(:, :)
  interface
    module subroutine advect(u, steps)
      real(real64), contiguous, intent(inout) :: u(:, :)
      integer, intent(in) :: steps
    end subroutine advect
    module function mass(u) result(total)
      real(real64), intent(in) :: u(:, :)
      real(real64) :: total
    end function mass
  end interface
end module transport
