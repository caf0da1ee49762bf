module levels
  implicit none
  integer, parameter :: wp = kind(1d0)
  type level
    integer :: points = 0
    real(wp), allocatable :: u(:), f(:), r(:)
  end type level
  type hierarchy
    type(level), allocatable :: grid(:)
    character(len=8) :: name = 'none'
  contains
    procedure :: build
    generic :: assignment(=) => take
    procedure, private :: take
  end type hierarchy
contains
  subroutine build(self, points, depth)
    class(hierarchy), intent(inout) :: self
    integer, intent(in) :: points, depth
    integer :: k, n
    allocate (self%grid(depth))
    n = points
    do k = 1, depth
      self%grid(k)%points = n
      allocate (self%grid(k)%u(0:n), self%grid(k)%f(0:n), self%grid(k)%r(0:n))
      self%grid(k)%u = 0
      self%grid(k)%f = 0
      self%grid(k)%r = 0
      n = n / 2
    end do
    self%name = 'built'
  end subroutine build

  subroutine take(self, other)
    class(hierarchy), intent(inout) :: self
    type(hierarchy), intent(in) :: other
    self%grid = other%grid
    self%name = 'copy'
  end subroutine take
end module levels
