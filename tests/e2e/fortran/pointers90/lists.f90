module lists
  ! Sources of heat in a linked list.
  implicit none
  type source
    integer :: row, column
    double precision :: heat
    type(source), pointer :: next
  end type source
  type(source), pointer :: first
contains
  subroutine add(row, column, heat)
    integer, intent(in) :: row, column
    double precision, intent(in) :: heat
    type(source), pointer :: new
    allocate (new)
    new%row = row
    new%column = column
    new%heat = heat
    new%next => first
    first => new
  end subroutine add
end module lists
