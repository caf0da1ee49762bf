! The same as courant.c.
program courant
  implicit none
  integer, parameter :: n = 24, steps = 8, lists = 2
  REAL_ :: u(0:n+1, 0:n+1), w(0:n+1, 0:n+1), speed(n*n), rate(n*n), dt, bound
  integer :: list(n*n/lists, lists), place, t, r, e, i, j
  do j = 0, n + 1
    do i = 0, n + 1
      u(i, j) = mod(i + j * (n + 2), 7); w(i, j) = u(i, j)
    end do
  end do
  do e = 1, n * n
    list((e - 1) / lists + 1, mod(e - 1, lists) + 1) = e
  end do
  dt = 1e-3; place = 0
  do t = 1, steps
    bound = 1e20
    call step(dt, u, w, speed, rate)
    do r = 1, lists
      call constrain(list(:, r), speed, rate, bound, place)
    end do
    dt = min(0.01 * bound, dt * 2)
    u = w
  end do
  print *, dt, place, u(1, 1)
contains
  subroutine step(dt, u, w, speed, rate)
    REAL_, intent(in) :: dt, u(0:n+1, 0:n+1)
    REAL_, intent(inout) :: w(0:n+1, 0:n+1), speed(n, n), rate(n, n)
    REAL_ :: d
    do j = 1, n
      do i = 1, n
        d = u(i-1, j) + u(i+1, j) + u(i, j-1) + u(i, j+1) - 4 * u(i, j)
        w(i, j) = u(i, j) + dt * d
        speed(i, j) = 1 + 0.1 * u(i, j)
        rate(i, j) = d
      end do
    end do
  end subroutine
  subroutine constrain(list, speed, rate, bound, place)
    integer, intent(in) :: list(:)
    REAL_, intent(in) :: speed(:), rate(:)
    REAL_, intent(inout) :: bound
    integer, intent(inout) :: place
    REAL_ :: least, f
    integer :: k, where
    least = bound
    where = -1
    do k = 1, size(list)
      f = sqrt(speed(list(k))**2 + 1)
      if (rate(list(k)) /= 0 .and. f < least) then
        least = f
        where = list(k)
      end if
    end do
    if (where /= -1) then
      bound = least
      place = where
    end if
  end subroutine
end program
