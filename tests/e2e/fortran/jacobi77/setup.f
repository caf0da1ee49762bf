      SUBROUTINE SETUP
      INCLUDE 'grid.inc'
      DOUBLE PRECISION FLAT(MAXN * MAXN), HILL, X, Y
      EQUIVALENCE (U(1, 1), FLAT(1))
      INTEGER I, J
      HILL(X, Y) = X * (35D0 - X) + 0.5D0 * Y
      DO 10 I = 1, MAXN * MAXN
   10 FLAT(I) = 0D0
      DO 30 J = 1, N
         DO 20 I = 1, N
            U(I, J) = HILL(DBLE(I), DBLE(J))
            V(I, J) = U(I, J)
   20    CONTINUE
   30 CONTINUE
      RETURN
      END

      SUBROUTINE SUMALL(RESULT)
      INCLUDE 'grid.inc'
      DOUBLE PRECISION RESULT
      INTEGER I, J
      RESULT = 0D0
      DO 10 J = 1, N
      DO 10 I = 1, N
   10 RESULT = RESULT + U(I, J)
      RETURN
      ENTRY BIGGEST(RESULT)
      RESULT = U(1, 1)
      DO 20 J = 1, N
      DO 20 I = 1, N
      IF (U(I, J) .GT. RESULT) RESULT = U(I, J)
   20 CONTINUE
      RETURN
      END
