// The work of bench-queue.c with std::priority_queue: prints nanoseconds per hold, a line per size.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <queue>
#include <vector>

namespace {

struct Event {
    std::int64_t time_ps;
    std::uint64_t sequence;
    std::uint64_t data;
    bool operator>(const Event &other) const
    {
        return time_ps != other.time_ps ? time_ps > other.time_ps : sequence > other.sequence;
    }
};

std::uint64_t next_random(std::uint64_t &state)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

std::int64_t random_delay_ps(std::uint64_t &state)
{
    return static_cast<std::int64_t>(next_random(state) >> 24) + 1;
}

double hold_ns(unsigned n_pending)
{
    constexpr unsigned n_holds = 3000000;
    std::priority_queue<Event, std::vector<Event>, std::greater<Event>> queue;
    std::uint64_t state = 88172645463325252u, sequence = 0;
    for (unsigned i = 0; i < n_pending; i++) {
        queue.push({random_delay_ps(state), sequence++, i});
    }
    auto hold = [&] {
        Event event = queue.top();
        queue.pop();
        queue.push({event.time_ps + random_delay_ps(state), sequence++, event.data});
    };
    for (unsigned i = 0; i < n_pending; i++) {
        hold();
    }
    auto start = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < n_holds; i++) {
        hold();
    }
    std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
    return elapsed.count() / n_holds;
}

} // namespace

int main()
{
    for (unsigned n_pending : {1000u, 10000u, 100000u, 1000000u}) {
        double best = hold_ns(n_pending);
        for (int round = 1; round < 3; round++) {
            double again = hold_ns(n_pending);
            best = again < best ? again : best;
        }
        std::printf("%.1f\n", best);
    }
}
