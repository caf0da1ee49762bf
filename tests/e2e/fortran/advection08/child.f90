submodule (transport) upwind
  implicit none
  real(real64), parameter :: speed(2) = [0.25_real64, 0.5_real64]
contains
  module procedure advect
    real(real64), allocatable :: next(:, :)
    integer :: i, j, step
    allocate (next, mold=u)
    associate (n => size(u, 1), m => size(u, 2), c => speed)
      do step = 1, steps
        do concurrent (j = 2:m, i = 2:n)
          next(i, j) = u(i, j) - c(1) * (u(i, j) - u(i - 1, j)) - c(2) * (u(i, j) - u(i, j - 1))
        end do
        do i = 1, n
          next(i, 1) = 0.5_real64 * u(i, 1)
        end do
        do j = 2, m
          next(1, j) = 0.5_real64 * u(1, j)
        end do
        do concurrent (j = 1:m, i = 1:n)
          u(i, j) = next(i, j)
        end do
      end do
    end associate
  end procedure advect

  module procedure mass
    total = sum(u)
  end procedure mass
end submodule upwind
