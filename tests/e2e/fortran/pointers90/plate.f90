module plate
  use lists
  implicit none
  double precision, pointer :: old(:, :), new(:, :)
contains
  subroutine warm(steps)
    integer, intent(in) :: steps
    double precision, pointer :: swap(:, :)
    type(source), pointer :: s
    integer :: i, j, step, n
    n = size(old, 1)
    do step = 1, steps
      do j = 2, n - 1
        do i = 2, n - 1
          new(i, j) = 0.2d0 * (old(i, j) + old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1))
        end do
      end do
      s => first
      do while (associated(s))
        new(s%row, s%column) = s%heat
        s => s%next
      end do
      swap => old
      old => new
      new => swap
    end do
  end subroutine warm
end module plate
