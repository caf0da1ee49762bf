module abstract_operators
  implicit none
  integer, parameter :: dp = kind(1d0)
  type, abstract :: linear_operator
    integer :: points = 0
  contains
    procedure(apply_to), deferred :: apply
    procedure :: describe
  end type linear_operator
  abstract interface
    subroutine apply_to(self, x, y)
      import :: linear_operator, dp
      class(linear_operator), intent(in) :: self
      real(dp), intent(in) :: x(:)
      real(dp), intent(out) :: y(:)
    end subroutine apply_to
  end interface
contains
  subroutine describe(self, text)
    class(linear_operator), intent(in) :: self
    character(len=:), allocatable, intent(out) :: text
    character(len=12) :: digits
    write (digits, '(i0)') self%points
    text = 'operator on ' // trim(adjustl(digits)) // ' points'
  end subroutine describe
end module abstract_operators
