! Seven-point mean on a cube: the communication pattern of many mini-apps.
!
!     stencil3d [N [STEPS [copy|swap]]]     default: 32 10 copy
!
! The same program as stencil3d.c; the arrays have the layer of zeros as their bounds 0 and N + 1.
module stencil
  use, intrinsic :: iso_fortran_env, only: dp => real64, error_unit
  implicit none
  private
  public :: dp, initialise, stencil_run, argument, fail

  real(dp), parameter :: pi = 3.14159265358979323846_dp

contains

  subroutine initialise(n, grid)
    integer, intent(in) :: n
    real(dp), intent(inout) :: grid(0:n + 1, 0:n + 1, 0:n + 1)
    integer :: i, j, k
    real(dp) :: h

    h = pi / real(n + 1, dp)
    do k = 1, n
      do j = 1, n
        do i = 1, n
          grid(i, j, k) = sin(h * k) * sin(h * j) * sin(h * i)
        end do
      end do
    end do
  end subroutine initialise

  subroutine stencil_step(n, grid, work)
    integer, intent(in) :: n
    real(dp), intent(in) :: grid(0:n + 1, 0:n + 1, 0:n + 1)
    real(dp), intent(inout) :: work(0:n + 1, 0:n + 1, 0:n + 1)
    integer :: i, j, k

    do k = 1, n
      do j = 1, n
        do i = 1, n
          work(i, j, k) = (grid(i, j, k) + grid(i - 1, j, k) + grid(i + 1, j, k) &
                           + grid(i, j - 1, k) + grid(i, j + 1, k) &
                           + grid(i, j, k - 1) + grid(i, j, k + 1)) / 7.0_dp
        end do
      end do
    end do
  end subroutine stencil_step

  ! The main loop; grid holds the final field.
  subroutine stencil_run(n, steps, swap, grid, work)
    integer, intent(in) :: n, steps
    logical, intent(in) :: swap
    real(dp), allocatable, intent(inout) :: grid(:, :, :), work(:, :, :)
    real(dp), allocatable :: old(:, :, :)
    integer :: step

    do step = 1, steps
      call stencil_step(n, grid, work)
      if (swap) then
        call move_alloc(grid, old)
        call move_alloc(work, grid)
        call move_alloc(old, work)
      else
        grid(1:n, 1:n, 1:n) = work(1:n, 1:n, 1:n)
      end if
    end do
  end subroutine stencil_run

  ! The integer in command argument `position`, `default` if there is none.
  integer function argument(position, name, default, low, high) result(value)
    integer, intent(in) :: position, default, low, high
    character(len=*), intent(in) :: name
    character(len=32) :: text
    integer :: status

    value = default
    if (command_argument_count() < position) return
    call get_command_argument(position, text)
    status = verify(trim(text), '+-0123456789')
    if (status == 0) read (text, *, iostat=status) value
    if (status /= 0 .or. len_trim(text) == 0 .or. value < low .or. value > high) then
      write (error_unit, '(3a, i0, a, i0, 3a)') 'stencil3d: ', name, ' must be an integer from ', low, &
        ' to ', high, ', found ''', trim(text), ''''
      call fail()
    end if
  end function argument

  subroutine fail()
    stop 2, quiet=.true.
  end subroutine fail

end module stencil

program stencil3d
  use, intrinsic :: iso_fortran_env, only: error_unit
  use stencil
  implicit none
  real(dp), allocatable :: grid(:, :, :), work(:, :, :)
  character(len=32) :: mode
  integer :: n, steps, middle

  n = argument(1, 'N', 32, 1, 1000)
  steps = argument(2, 'STEPS', 10, 0, 1000000)
  mode = 'copy'
  if (command_argument_count() >= 3) call get_command_argument(3, mode)
  if (command_argument_count() > 3 .or. (mode /= 'copy' .and. mode /= 'swap')) then
    write (error_unit, '(a)') 'usage: stencil3d [N [STEPS [copy|swap]]]'
    call fail()
  end if

  allocate (grid(0:n + 1, 0:n + 1, 0:n + 1), work(0:n + 1, 0:n + 1, 0:n + 1))
  grid = 0.0_dp
  work = 0.0_dp
  call initialise(n, grid)
  call stencil_run(n, steps, mode == 'swap', grid, work)

  middle = (n + 1) / 2
  write (*, '(a, i0, a, i0, 2a)') 'stencil3d n ', n, ' steps ', steps, ' mode ', trim(mode)
  write (*, '(a, es16.10)') 'sum ', sum(grid(1:n, 1:n, 1:n))
  write (*, '(a, es16.10)') 'centre ', grid(middle, middle, middle)
end program stencil3d
