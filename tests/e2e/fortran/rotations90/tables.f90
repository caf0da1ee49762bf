module tables
  use ring
  implicit none
contains
  subroutine tabulate
    integer, parameter :: m = 6
    real(wp) :: a(m, m), b(m, m), line(m), packed(m * m)
    integer :: whole(m), picked(2)
    complex(wp) :: z(m), w
    logical :: mask(m, m)
    integer :: i
    a = reshape(u(1:m*m), (/ m, m /))
    b = transpose(a) + spread(a(:, 1), 2, m)
    mask = a > sum(a) / size(a)
    b = matmul(a, b)
    line = matmul(b, a(1, :))
    print '(3f20.6)', dot_product(line, a(2, :)), sum(b, mask=mask), product(a(1:2, 1:2))
    print '(6f12.5)', sum(a, dim=1), maxval(b, dim=2), minval(a, dim=1, mask=mask)
    print *, maxloc(a), minloc(b, mask=mask), maxloc(a, dim=1), minloc(b, dim=2)
    print *, any(mask), all(mask), count(mask, dim=1), any(mask, dim=2), all(mask, dim=1)
    whole = nint(100 * line)
    picked = (/ iand(whole(1), 255), ishft(whole(2), -2) /)
    print *, picked, modulo(whole(1), 7), mod(-whole(2), 7), ibits(whole(3), 1, 4)
    packed = pack(b, mask, vector=(/ (0._wp, i = 1, m * m) /))
    b = unpack(packed, mask .and. spread((/ (i == 3, i = 1, m) /), 1, m), b)
    b = merge(b, -b, mask)
    b = eoshift(b, shift=(/ (mod(i, 3) - 1, i = 1, m) /), boundary=9._wp, dim=1)
    z = cmplx(line, a(3, :), kind=wp)
    w = dot_product(z, z(m:1:-1))
    print '(6f16.4)', b(:, 2), abs(w), real(sum(z)), aimag(product(z))
    print *, lbound(a, 1), ubound(a), shape(b), size(b, 2), nint(sum(b, mask=.not. mask))
  end subroutine tabulate
end module tables
