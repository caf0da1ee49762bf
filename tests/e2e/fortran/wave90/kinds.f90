module kinds
  implicit none
  integer, parameter :: real_kind = selected_real_kind(15, 307)
end module kinds
