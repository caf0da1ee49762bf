      SUBROUTINE SWEEP
      INCLUDE 'grid.inc'
      INTEGER I, J
      DO 20 J = 2, N - 1
         DO 10 I = 2, N - 1
            V(I, J) = OMEGA * (U(I - 1, J) + U(I + 1, J)
     &                       + U(I, J - 1) + U(I, J + 1))
   10    CONTINUE
   20 CONTINUE
      RETURN
      END

      SUBROUTINE COPYBK
      INCLUDE 'grid.inc'
      INTEGER I, J
      DO 10 J = 2, N - 1
      DO 10 I = 2, N - 1
   10 U(I, J) = V(I, J)
      END
