module motion
  use bodies
  implicit none
contains
  subroutine move(steps)
    integer, intent(in) :: steps
    integer :: step, i, k
    do step = 1, steps
      do i = 2, number - 1
        do k = 1, 3
          chain(i)%force(k) = pull(chain(i)%place(k), chain(i - 1)%place(k)) &
            + pull(chain(i)%place(k), chain(i + 1)%place(k))
        end do
      end do
      do i = 2, number - 1
        call push(chain(i), 0.125_wp)
      end do
    end do
  end subroutine move
end module motion
