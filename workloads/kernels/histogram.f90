! How often each of m values occurs among n keys; COMMON block and an array of the main program.
!
! Plain division: keys in p blocks, counts combined: 4 m (p - 1) (every block has every value).
subroutine kernel(n, keys)
  implicit none
  integer, intent(in) :: n, keys(n)
  integer :: counts(256), i
  common /table/ counts
  do i = 1, n
    counts(keys(i)) = counts(keys(i)) + 1
  end do
end subroutine
program histogram
  implicit none
  integer :: n, m, i, counts(256)
  integer, allocatable :: keys(:)
  common /table/ counts
  character(len=16) :: text
  call get_command_argument(1, text)
  read (text, *) n
  call get_command_argument(2, text)
  read (text, *) m
  allocate (keys(n))
  counts = 0
  do i = 1, n
    keys(i) = 1 + mod(i * 7 + i / m, m)
  end do
  call kernel(n, keys)
  print *, maxval(counts), sum(counts)
end program
