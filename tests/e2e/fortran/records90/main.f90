program records
  use files
  implicit none
  integer, parameter :: n = 64
  double precision :: x(n), y(n), table(n), noise(n), seconds
  integer :: i, length, status, start, rate, values(8), seeds
  integer, allocatable :: seed(:)
  logical :: there, is_open
  character(len=24) :: text, stamp*8
  common /work/ x, y, table
  external smooth
  inquire (iolength=length) x(1)
  open (10, status='scratch', access='direct', form='unformatted', recl=length)
  open (11, status='scratch', form='formatted')
  call system_clock(start, rate)
  call cpu_time(seconds)
  call date_and_time(date=stamp, values=values)
  call random_seed(size=seeds)
  allocate (seed(seeds))
  seed = 42
  call random_seed(put=seed)
  call random_number(noise)
  do i = 1, n
    y(i) = sqrt(dble(i)) + aint(noise(i))
  end do
  call write_records(10, y)
  call read_records(10, x)
  write (11, '(4f18.10)') y
  call read_table(11, table)
  call smooth(x, y, n, 4)
  inquire (unit=10, opened=is_open)
  inquire (file='/no/such/file', exist=there)
  write (text, '(f12.6)') x(32)
  read (text, *, iostat=status) seconds
  print *, there, is_open, status, trim(adjustl(text)), len_trim(stamp), rate > 0
  print '(2(1x, es16.8), i5)', sum(x), maxval(abs(table - sqrt([(dble(i), i = 1, n)]))), count(x > 4)
  read (text, '(i8)', err=20) status
  stop 3
20 print *, 'not a number'
  close (10)
  close (11, status='delete')
end program records
