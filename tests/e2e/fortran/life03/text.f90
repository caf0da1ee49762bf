module text
  implicit none
  character(len=*), parameter :: digits = '0123456789'
contains
  function upper(word) result(big)
    character(len=*), intent(in) :: word
    character(len=len(word)) :: big
    integer :: i
    do i = 1, len(word)
      select case (word(i:i))
      case ('a':'z')
        big(i:i) = achar(iachar(word(i:i)) - 32)
      case default
        big(i:i) = word(i:i)
      end select
    end do
  end function upper

  subroutine split(line, words)
    character(len=*), intent(in) :: line
    character(len=:), allocatable, intent(out) :: words(:)
    integer :: from, to, count
    allocate (character(len=8) :: words(count_words(line)))
    from = 1
    count = 0
    do
      from = from + verify(line(from:), ' ') - 1
      to = scan(line(from:) // ' ', ' ') + from - 2
      if (to < from) exit
      count = count + 1
      words(count) = line(from:to)
      from = to + 1
      if (len_trim(line(from:)) == 0) exit
    end do
  end subroutine split

  integer function count_words(line) result(count)
    character(len=*), intent(in) :: line
    integer :: i
    count = 0
    do i = 1, len(line)
      if (line(i:i) == ' ') cycle
      if (i == 1) then
        count = count + 1
      else if (line(i-1:i-1) == ' ') then
        count = count + 1
      end if
    end do
  end function count_words
end module text
