program warming
  use plate
  implicit none
  integer :: n, status
  double precision, pointer :: row(:)
  n = 30
  nullify (first)
  call add(5, 4, 10d0)
  call add(20, 19, -3d0)
  allocate (old(n, n), new(n, n), stat=status)
  if (status /= 0) stop 1
  old = 1d0
  new = 1d0
  call warm(4)
  row => old(5, :)
  write (*, '(5f10.5)') row(2:6)
  write (*, *) associated(row, old(5, :)), associated(first), nint(sum(old))
  deallocate (old, new)
end program warming
