! Gas dynamics split by directions: a pencil is copied to work arrays, its faces are solved, and it is written back.
module gas
  implicit none
  integer, parameter :: wp = kind(1d0)
  real(wp), parameter :: gamma = 1.4_wp
  type :: pencil
    real(wp), allocatable :: r(:), u(:), v(:), e(:), p(:), c(:), fr(:), fu(:), fv(:), fe(:)
  end type
contains
  subroutine make(w, n)
    type(pencil), intent(out) :: w
    integer, intent(in) :: n
    allocate (w%r(0:n + 1), w%u(0:n + 1), w%v(0:n + 1), w%e(0:n + 1), w%p(0:n + 1), w%c(0:n + 1))
    allocate (w%fr(n + 1), w%fu(n + 1), w%fv(n + 1), w%fe(n + 1))
  end subroutine

  subroutine solve(w, n, scale)
    type(pencil), intent(inout) :: w
    integer, intent(in) :: n
    real(wp), intent(in) :: scale
    integer :: i
    real(wp) :: s, ra, rb
    w%r(0) = w%r(1); w%v(0) = w%v(1); w%e(0) = w%e(1); w%u(0) = -w%u(1)
    w%r(n + 1) = w%r(n); w%v(n + 1) = w%v(n); w%e(n + 1) = w%e(n); w%u(n + 1) = -w%u(n)
    do i = 0, n + 1
      w%p(i) = (gamma - 1) * (w%e(i) - 0.5_wp * (w%u(i)**2 + w%v(i)**2) / w%r(i))
      w%c(i) = abs(w%u(i) / w%r(i)) + sqrt(gamma * w%p(i) / w%r(i))
    end do
    do i = 1, n + 1
      s = 0.5_wp * max(w%c(i - 1), w%c(i))
      ra = w%u(i - 1) / w%r(i - 1)
      rb = w%u(i) / w%r(i)
      w%fr(i) = 0.5_wp * (w%u(i - 1) + w%u(i)) - s * (w%r(i) - w%r(i - 1))
      w%fu(i) = 0.5_wp * (w%u(i - 1) * ra + w%p(i - 1) + w%u(i) * rb + w%p(i)) - s * (w%u(i) - w%u(i - 1))
      w%fv(i) = 0.5_wp * (w%v(i - 1) * ra + w%v(i) * rb) - s * (w%v(i) - w%v(i - 1))
      w%fe(i) = 0.5_wp * ((w%e(i - 1) + w%p(i - 1)) * ra + (w%e(i) + w%p(i)) * rb) - s * (w%e(i) - w%e(i - 1))
    end do
    do i = 1, n
      w%r(i) = w%r(i) - scale * (w%fr(i + 1) - w%fr(i))
      w%u(i) = w%u(i) - scale * (w%fu(i + 1) - w%fu(i))
      w%v(i) = w%v(i) - scale * (w%fv(i + 1) - w%fv(i))
      w%e(i) = w%e(i) - scale * (w%fe(i + 1) - w%fe(i))
    end do
  end subroutine
end module

program split_hydro
  use gas
  implicit none
  character(32) :: word
  integer :: n, steps, i, j, s
  real(wp) :: scale
  real(wp), allocatable :: r(:, :), mx(:, :), my(:, :), en(:, :)
  type(pencil) :: w
  call get_command_argument(1, word); read (word, *) n
  call get_command_argument(2, word); read (word, *) steps
  allocate (r(n, n), mx(n, n), my(n, n), en(n, n))
  call make(w, n)
  do j = 1, n
    do i = 1, n
      r(i, j) = 1 + 0.5_wp * modulo(i * j, 7) / 7
      mx(i, j) = 0.01_wp * (i - j) / n
      my(i, j) = 0.02_wp
      en(i, j) = 2.5_wp
      if (i < n / 4 .and. j < n / 3) en(i, j) = 5
    end do
  end do
  scale = 0.1_wp
  do s = 1, steps
    do j = 1, n
      w%r(1:n) = r(:, j); w%u(1:n) = mx(:, j); w%v(1:n) = my(:, j); w%e(1:n) = en(:, j)
      call solve(w, n, scale)
      r(:, j) = w%r(1:n); mx(:, j) = w%u(1:n); my(:, j) = w%v(1:n); en(:, j) = w%e(1:n)
    end do
    do i = 1, n
      w%r(1:n) = r(i, :); w%u(1:n) = my(i, :); w%v(1:n) = mx(i, :); w%e(1:n) = en(i, :)
      call solve(w, n, scale)
      r(i, :) = w%r(1:n); my(i, :) = w%u(1:n); mx(i, :) = w%v(1:n); en(i, :) = w%e(1:n)
    end do
  end do
  print '(es20.12)', sum(r * en)
end program
