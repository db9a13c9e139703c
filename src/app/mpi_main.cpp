#include "candor/app/mpi_main.hpp"

#include <cstdio>
#include <new>

#include "candor/base/error.hpp"
#include "candor/parallel/session.hpp"
#include "candor/parallel/stop.hpp"

namespace candor::app {

int mpi_main(const std::function<void(const parallel::Communicator&)>& work) {
    int argc = 0;
    char** argv = nullptr;
    parallel::Session session(argc, argv);
    try {
        work(session.world());
    } catch (const parallel::Stopped& stopped) {
        // All ranks agreed: nothing is wrong with MPI, and the code comes through launchers only by a proper
        // end.
        if (session.world().rank() == 0)
            std::fprintf(stderr, "candor: %s; run the same command again to go on\n", stopped.what());
        return static_cast<int>(stopped.code());
    } catch (const parallel::Echo& echo) {
        session.follow(echo.code());
    } catch (const Error& error) {
        session.fail(error.code(), std::string("candor: error: ") + error.what());
    } catch (const std::bad_alloc&) {
        session.fail(ExitCode::machine,
                     "candor: error: out of memory; use more ranks or nodes, or fewer rows");
    } catch (const std::exception& error) {
        session.fail(ExitCode::internal, std::string("candor: error: internal fault: ") + error.what() +
                                             "; please report this with the command you ran");
    }
    return 0;
}

}  // namespace candor::app
