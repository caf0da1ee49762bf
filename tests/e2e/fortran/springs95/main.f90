program springs
  use motion
  implicit none
  integer :: i
  logical :: far(number)
  type(body) :: copy
  forall (i = 1:number)
    chain(i)%place(1) = i
    chain(i)%place(2) = mod(i, 5)
    chain(i)%place(3) = 1._wp / i
  end forall
  call move(6)
  copy = chain(7)
  far = chain%place(2) > 2.0_wp
  print '(3f12.6)', copy%place
  print '(a, i4, f12.6)', 'far', count(far), sum(chain%place(1), mask=far)
  print '(a, 2i4)', 'largest', maxloc(chain%place(3)), minloc(chain%place(2), dim=1)
end program springs
