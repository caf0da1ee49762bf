program wave
  use string
  use kinds
  implicit none
  integer :: points, steps, at, unit
  real(real_kind) :: number
  namelist /setting/ points, steps, at, number
  unit = 12
  open (unit, status='scratch', form='formatted', action='readwrite')
  write (unit, '(a)') ' &setting points = 64, steps = 5, at = 20,'
  write (unit, '(a)') '   number = 2.5e-1 /'
  rewind unit
  points = 0; steps = 0; at = 1; number = 0
  read (unit, nml=setting)
  close (unit)
  call tune(points, number)
  call pluck(at)
  call vibrate(steps)
  write (*, '(a, i4, 2f12.6)') 'wave', points, sum(now), maxval(abs(now))
  write (*, setting)
  call release
end program wave
