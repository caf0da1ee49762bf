! The same as cheapest_path.c.
program path
  implicit none
  integer, parameter :: n = 320, rows = 24
  REAL_ :: wall(n, rows), a(n), b(n)
  integer :: k, t
  do t = 1, rows
    do k = 1, n
      wall(k, t) = mod(k * 7919 + t, 10)
    end do
  end do
  a = wall(:, 1)
  do t = 2, rows
    call descend(wall(:, t), a, b)
    a = b
  end do
  print *, sum(a)
contains
  subroutine descend(wall, a, b)
    REAL_, intent(in) :: wall(:), a(:)
    REAL_, intent(out) :: b(:)
    integer :: j
    do j = 1, n
      b(j) = wall(j) + min(a(max(j - 1, 1)), a(j), a(min(j + 1, n)))
    end do
  end subroutine
end program
