!mod$ v1 sum:bce1215d3e16c2ce
module fields
real(8),allocatable::u(:,:)
real(8),allocatable::v(:,:)
real(8),pointer::edge(:)
contains
subroutine setup(n)
integer(4),intent(in)::n
end
subroutine make(a,n)
real(8),allocatable,intent(out)::a(:)
integer(4),intent(in)::n
end
subroutine smooth(n)
integer(4),intent(in)::n
end
end
