module files
  implicit none
  integer, parameter :: wp = selected_real_kind(12)
contains
  subroutine write_records(unit, x)
    integer, intent(in) :: unit
    real(wp), intent(in) :: x(:)
    integer :: i
    do i = 1, size(x)
      write (unit, rec=i) x(i)
    end do
  end subroutine write_records

  subroutine read_records(unit, x)
    integer, intent(in) :: unit
    real(wp), intent(out) :: x(:)
    integer :: i
    do i = 1, size(x)
      read (unit, rec=i) x(i)
    end do
  end subroutine read_records

  subroutine read_table(unit, x)
    ! Formatted numbers, four in a line.
    integer, intent(in) :: unit
    real(wp), intent(out) :: x(:)
    integer :: i, status
    character(len=80) :: line
    rewind unit
    do i = 1, size(x), 4
      read (unit, '(a)', iostat=status, end=10) line
      if (status /= 0) exit
      read (line, *) x(i:i+3)
    end do
10  continue
  end subroutine read_table
end module files
