! Symmetric relaxation by wavefronts: five coupled unknowns at each of n x n x n points; a step makes the residual from a
! seven-point stencil, then solves a lower and an upper system point by point through 5 x 5 blocks that are made for each point in
! small arrays and eliminated there; COMMON blocks, arrays with the unknowns first.
!
! Plain division: p1 x p2 x p3 blocks of points. In a step the residual reads u from both sides of each cut, the lower system the
! new r from one side, the upper one from the other: four layers of 5 values; blocks of a point depend on u of that point
! only. 8 * 5 * 4 t * (n^2 (p1 + p2 + p3 - 3)).
module fields
  implicit none
  integer, parameter :: most = 40
  real(8) :: u(5, 0:most + 1, 0:most + 1, 0:most + 1), r(5, 0:most + 1, 0:most + 1, 0:most + 1)
  common /state/ u, r
contains
  subroutine make_block(i, j, k, d)
    integer, intent(in) :: i, j, k
    real(8), intent(out) :: d(5, 5)
    integer :: a, b
    do b = 1, 5
      do a = 1, 5
        d(a, b) = 0.01d0 * u(a, i, j, k) * u(b, i, j, k) / (1.0d0 + u(1, i, j, k)**2)
      end do
      d(b, b) = d(b, b) + 4.0d0
    end do
  end subroutine
  subroutine eliminate(d, v)
    real(8), intent(inout) :: d(5, 5), v(5)
    real(8) :: f
    integer :: a, b, c
    do a = 1, 4
      do b = a + 1, 5
        f = d(b, a) / d(a, a)
        do c = a + 1, 5
          d(b, c) = d(b, c) - f * d(a, c)
        end do
        v(b) = v(b) - f * v(a)
      end do
    end do
    do a = 5, 1, -1
      do b = a + 1, 5
        v(a) = v(a) - d(a, b) * v(b)
      end do
      v(a) = v(a) / d(a, a)
    end do
  end subroutine
  subroutine lower(n)
    integer, intent(in) :: n
    real(8) :: d(5, 5), v(5)
    integer :: i, j, k, a
    do k = 1, n
      do j = 1, n
        do i = 1, n
          do a = 1, 5
            v(a) = r(a, i, j, k) + 0.3d0 * (r(a, i - 1, j, k) + r(a, i, j - 1, k) + r(a, i, j, k - 1))
          end do
          call make_block(i, j, k, d)
          call eliminate(d, v)
          do a = 1, 5
            r(a, i, j, k) = v(a)
          end do
        end do
      end do
    end do
  end subroutine
  subroutine upper(n)
    integer, intent(in) :: n
    real(8) :: d(5, 5), v(5)
    integer :: i, j, k, a
    do k = n, 1, -1
      do j = n, 1, -1
        do i = n, 1, -1
          do a = 1, 5
            v(a) = 0.3d0 * (r(a, i + 1, j, k) + r(a, i, j + 1, k) + r(a, i, j, k + 1))
          end do
          call make_block(i, j, k, d)
          call eliminate(d, v)
          do a = 1, 5
            r(a, i, j, k) = r(a, i, j, k) + v(a)
          end do
        end do
      end do
    end do
  end subroutine
  subroutine kernel(n, t)
    integer, intent(in) :: n, t
    integer :: i, j, k, a, s
    do s = 1, t
      do k = 1, n
        do j = 1, n
          do i = 1, n
            do a = 1, 5
              r(a, i, j, k) = u(a, i - 1, j, k) + u(a, i + 1, j, k) + u(a, i, j - 1, k) + u(a, i, j + 1, k) &
                + u(a, i, j, k - 1) + u(a, i, j, k + 1) - 6.0d0 * u(a, i, j, k)
            end do
          end do
        end do
      end do
      call lower(n)
      call upper(n)
      do k = 1, n
        do j = 1, n
          do i = 1, n
            do a = 1, 5
              u(a, i, j, k) = u(a, i, j, k) + 0.1d0 * r(a, i, j, k)
            end do
          end do
        end do
      end do
    end do
  end subroutine
end module
program ssor
  use fields
  implicit none
  integer :: n, t, i, j, k, a
  character(len=16) :: text
  call get_command_argument(1, text)
  read (text, *) n
  call get_command_argument(2, text)
  read (text, *) t
  do k = 0, n + 1
    do j = 0, n + 1
      do i = 0, n + 1
        do a = 1, 5
          u(a, i, j, k) = mod(a + i * 3 + j * 5 + k * 7, 11) / 11.0d0
          r(a, i, j, k) = 0.0d0
        end do
      end do
    end do
  end do
  call kernel(n, t)
  print '(es16.8)', sum(u(:, 1:n, 1:n, 1:n))
end program
