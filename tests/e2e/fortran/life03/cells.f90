module cells
  implicit none
  integer, allocatable :: alive(:, :), next(:, :)
contains
  subroutine evolve(generations)
    integer, intent(in) :: generations
    integer :: i, j, g, around
    do g = 1, generations
      do j = 2, size(alive, 2) - 1
        do i = 2, size(alive, 1) - 1
          around = alive(i-1, j-1) + alive(i, j-1) + alive(i+1, j-1) + alive(i-1, j) &
            + alive(i+1, j) + alive(i-1, j+1) + alive(i, j+1) + alive(i+1, j+1)
          next(i, j) = merge(1, 0, around == 3 .or. (around == 2 .and. alive(i, j) == 1))
        end do
      end do
      do j = 2, size(alive, 2) - 1
        do i = 2, size(alive, 1) - 1
          alive(i, j) = next(i, j)
        end do
      end do
    end do
  end subroutine evolve
end module cells
