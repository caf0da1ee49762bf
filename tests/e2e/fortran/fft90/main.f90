program fft
  implicit none
  integer, parameter :: n = 64
  complex(kind(1d0)) :: signal(0:n-1)
  integer :: i
  interface
    subroutine butterflies(a, n)
      integer, intent(in) :: n
      complex(kind(1d0)), intent(inout) :: a(0:n-1)
    end subroutine butterflies
  end interface
  signal = [(cmplx(mod(i, 5), mod(i, 3), kind(1d0)), i = 0, n - 1)]
  call butterflies(signal, n)
  print '(4f16.6)', signal(0), abs(signal(1)), real(dot_product(signal, signal))
  print *, conjg(signal(2)) == conjg(signal(2)), nint(abs(signal(n/2))), ceiling(real(signal(3)))
end program fft
