/* The marks that hydro3d's MPI counterpart sets around its main loop; compiled with smpi_clock.h in front. */
extern "C" void commanalyzer_region_begin(const char *)
{
    loop_clock(1);
}

extern "C" void commanalyzer_region_end(const char *)
{
    loop_clock(0);
}
