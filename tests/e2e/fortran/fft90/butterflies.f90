subroutine butterflies(a, n)
  ! Decimation in frequency, in place; the result is in bit-reversed order.
  implicit none
  integer, intent(in) :: n
  complex(kind(1d0)), intent(inout) :: a(0:n-1)
  complex(kind(1d0)) :: upper, turn
  double precision, parameter :: pi = 3.14159265358979323846d0
  integer :: half, start, k
  half = n / 2
  do while (half >= 1)
    do start = 0, n - 1, 2 * half
      do k = start, start + half - 1
        turn = exp(cmplx(0d0, -pi * (k - start) / half, kind(1d0)))
        upper = a(k) + a(k + half)
        a(k + half) = (a(k) - a(k + half)) * turn
        a(k) = upper
      end do
    end do
    half = half / 2
  end do
end subroutine butterflies
