! Allocatables of a module, of procedures, in arguments; pointers.
module fields
  implicit none
  real(8), allocatable :: u(:,:), v(:,:)
  real(8), pointer :: edge(:)
  type grid
    integer :: points
    real(8), allocatable :: p(:), q(:)
  end type
  type(grid) :: coarse
contains
  subroutine setup(n)
    integer, intent(in) :: n
    allocate(u(n, n), v(n + 1, n)); allocate(edge(n)); edge = 0
    call create(coarse, n)
    u = 1.0d0
    edge = 0.5d0
  end subroutine
  subroutine make(a, n)
    real(8), allocatable, intent(out) :: a(:)
    integer, intent(in) :: n
    integer :: i
    allocate(a(n))
    do i = 1, n
      a(i) = i * 0.5d0
    end do
  end subroutine
  subroutine create(g, n)
    type(grid), intent(inout) :: g
    integer, intent(in) :: n
    g%points = n
    allocate(g%p(n), &
             g%q(2 * n))
  end subroutine
  subroutine smooth(n)
    integer, intent(in) :: n
    real(8), allocatable :: scratch(:)
    integer :: i
    allocate(scratch(n))
    do i = 1, n
      scratch(i) = u(i, 1) * edge(i)
    end do
    do i = 1, n
      u(i, 1) = scratch(n + 1 - i) + 1
    end do
    deallocate(scratch)
  end subroutine
end module
program main
  use fields
  implicit none
  character(len=16) :: text
  integer :: n, i, j
  real(8), allocatable :: w(:), z(:)
  type(grid) :: fine
  call get_command_argument(1, text)
  read (text, *) n
  call setup(n)
  call make(w, n)
  call make(z, 2 * n)
  call create(fine, n)
  do i = 1, n
    coarse%p(i) = w(i) * 2
    coarse%q(i) = z(i) * 2
    coarse%q(n + i) = z(n + i) * 2
    fine%p(i) = coarse%p(i) * 2
    fine%q(i) = coarse%q(i) * 2
    fine%q(n + i) = coarse%q(n + i) * 2
  end do
  do j = 1, n
    do i = 1, n
      v(i, j) = u(i, j) * w(i) + z(j)
      u(i, j) = v(i, j) + 1
    end do
    edge(j) = v(j, j) + z(n + j)
  end do
  do i = 1, 3
    call smooth(n)
  end do
  print *, sum(u) + sum(v) + sum(fine%p) + sum(fine%q)
end program
