module beams
  use abstract_operators
  implicit none
  type, extends(linear_operator) :: beam
    real(dp), allocatable :: stiffness(:)
  contains
    procedure :: apply => bend
    final :: forget
  end type beam
  type, extends(linear_operator) :: identity
  contains
    procedure :: apply => keep
  end type identity
  integer :: forgotten = 0
  real(dp), allocatable :: x(:), y(:)
contains
  function new_beam(points) result(made)
    integer, intent(in) :: points
    class(linear_operator), allocatable :: made
    type(beam), allocatable :: concrete
    allocate (concrete)
    concrete%points = points
    allocate (concrete%stiffness(points), source=0.25_dp)
    call move_alloc(concrete, made)
  end function new_beam

  subroutine bend(self, x, y)
    class(beam), intent(in) :: self
    real(dp), intent(in) :: x(:)
    real(dp), intent(out) :: y(:)
    integer :: i
    do i = 3, self%points - 2
      y(i) = self%stiffness(i) * (x(i - 2) - 4 * x(i - 1) + 6 * x(i) - 4 * x(i + 1) + x(i + 2))
    end do
  end subroutine bend

  subroutine keep(self, x, y)
    class(identity), intent(in) :: self
    real(dp), intent(in) :: x(:)
    real(dp), intent(out) :: y(:)
    y(:self%points) = x(:self%points)
  end subroutine keep

  subroutine iterate(a, steps)
    class(linear_operator), intent(in) :: a
    integer, intent(in) :: steps
    integer :: i
    associate (n => a%points)
      do i = 1, steps
        call a%apply(x, y)
        x(3:n-2) = x(3:n-2) - 0.1_dp * y(3:n-2)
      end do
    end associate
  end subroutine iterate

  subroutine forget(self)
    type(beam), intent(inout) :: self
    forgotten = forgotten + 1
  end subroutine forget
end module beams
