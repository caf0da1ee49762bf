program life
  use cells
  use text
  implicit none
  integer, parameter :: n = 26
  character(len=n) :: picture
  character(len=:), allocatable :: words(:), title
  integer :: i, j, births
  title = repeat('-', 3) // upper('life') // repeat('-', 3)
  call split('  glider 3 3  block 12 12', words)
  allocate (alive(n, n), next(n, n))
  alive = 0
  next = 0
  do i = 1, size(words), 3
    if (verify(trim(words(i+1)), digits) /= 0) error stop 'a number is not a number'
    read (words(i+1), *) births
    read (words(i+2), '(i8)') j
    if (index(words(i), 'glider') > 0) then
      alive(births:births+2, j:j+2) = reshape([0, 0, 1, 1, 0, 1, 0, 1, 1], [3, 3])
    else if (adjustl(words(i)) == 'block') then
      alive(births:births+1, j:j+1) = 1
    end if
  end do
  call evolve(5)
  print '(a)', title
  do i = 2, 8
    do j = 1, n
      picture(j:j) = merge('#', '.', alive(i, j) == 1)
    end do
    print '(a, i4)', picture, index(picture, '#', back=.true.)
  end do
  print *, sum(alive), len(title), lle('a', 'b'), adjustr('ab  ') // '|', minval(len_trim(words))
end program life
