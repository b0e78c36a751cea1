/* Submits a list of requests to a block device, a process per `proc`, and says when they started.
 *
 *   submit DEVICE < plan        P proc class level start_ns
 *                               Q proc at|after ns R|W|A sector sectors own|no|all
 *
 * `at`: ns after the common start. `after`: ns after the process's previous call returned. R, W: direct, by asynchronous system calls.
 * A: through the page cache and pushed out at once. `own` waits for this request, `no` goes on, `all` submits nothing and waits for
 * everything. A process that is done stays until all are: schedulers forget what they know of one that ends.
 *
 * Prints `start TICKS`: the processor's counter at the common start, which is also the trace clock. The start falls on a tick of the
 * kernel's timer whatever HZ is, so that jiffies are known from the time since then.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { PROCESSES = 1024, OUTSTANDING = 1024, START_NS = 200000000, TICKS_NS = 20000000 };

struct request {
	long long ns;
	unsigned long long sector, sectors;
	int proc, at;
	char op, wait;
};
struct process {
	int used, class, level;
	long long start_ns;
};

static struct process processes[PROCESSES];
static struct request *requests;
static size_t count, room;
static long long start;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_until(long long ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};
	if (ns > now())
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
			;
}

static void read_plan(void)
{
	char line[256], when[8], op[4], wait[8];
	int proc, class, level;
	long long ns;
	unsigned long long sector, sectors;
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "P %d %d %d %lld", &proc, &class, &level, &ns) == 4 && proc >= 0 && proc < PROCESSES) {
			processes[proc] = (struct process){1, class, level, ns};
		} else if (sscanf(line, "Q %d %7s %lld %3s %llu %llu %7s", &proc, when, &ns, op, &sector, &sectors, wait) == 7 &&
			   proc >= 0 && proc < PROCESSES && processes[proc].used) {
			if (count == room)
				requests = realloc(requests, (room = room ? 2 * room : 256) * sizeof *requests);
			if (!requests)
				fail("memory");
			requests[count++] = (struct request){ns, sector, sectors, proc, !strcmp(when, "at"), op[0], wait[0]};
		} else {
			fprintf(stderr, "cannot read the line %s", line);
			exit(2);
		}
	}
}

/* Takes in what is done; with `least` 1 sleeps for one. Returns how many. */
static int reap(aio_context_t context, int least, uint64_t wanted, int *seen)
{
	struct io_event events[64];
	struct timespec none = {0, 0};
	int got = syscall(SYS_io_getevents, context, least, 64, events, least ? NULL : &none);
	if (got < 0)
		fail("io_getevents");
	for (int i = 0; i < got; i++) {
		if (events[i].res < 0)
			fprintf(stderr, "request %llu failed: %lld\n", (unsigned long long)events[i].data, (long long)events[i].res);
		if (seen && events[i].data == wanted)
			*seen = 1;
	}
	return got;
}

/* `done` is closed when a process has done its part, `end` when all have. */
static void run(const char *device, int proc, int done, int end)
{
	int direct = open(device, O_RDWR | O_DIRECT), buffered = open(device, O_RDWR), outstanding = 0;
	aio_context_t context = 0;
	size_t largest = 4096;
	if (direct < 0 || buffered < 0 || syscall(SYS_io_setup, OUTSTANDING, &context) < 0)
		fail(device);
	for (size_t i = 0; i < count; i++)
		if (requests[i].proc == proc && requests[i].sectors * 512 > largest)
			largest = requests[i].sectors * 512;
	char *data = mmap(NULL, largest, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (data == MAP_FAILED)
		fail("mmap");
	/* 1: a process, 0: the caller. Linux include/uapi/linux/ioprio.h: the class stands above bit 13. */
	if (processes[proc].class && syscall(SYS_ioprio_set, 1, 0, processes[proc].class << 13 | processes[proc].level) < 0)
		fail("ioprio_set");
	/* The kernel lets timers be 50 us late otherwise. */
	prctl(PR_SET_TIMERSLACK, 1L);
	sleep_until(start + processes[proc].start_ns);
	long long before = now();
	for (size_t i = 0; i < count; i++) {
		struct request *r = &requests[i];
		if (r->proc != proc)
			continue;
		sleep_until(r->at ? start + r->ns : before + r->ns);
		while (outstanding && outstanding >= OUTSTANDING - 1)
			outstanding -= reap(context, 1, 0, NULL);
		if (r->wait == 'a') {
			while (outstanding)
				outstanding -= reap(context, 1, 0, NULL);
		} else if (r->op == 'A') {
			if (pwrite(buffered, data, r->sectors * 512, r->sector * 512) < 0 ||
			    sync_file_range(buffered, r->sector * 512, r->sectors * 512, SYNC_FILE_RANGE_WRITE) < 0)
				fail("a buffered write");
		} else {
			struct iocb block = {.aio_data = i, .aio_fildes = direct, .aio_buf = (uintptr_t)data,
					     .aio_lio_opcode = r->op == 'R' ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE,
					     .aio_nbytes = r->sectors * 512, .aio_offset = r->sector * 512};
			struct iocb *list[1] = {&block};
			int seen = 0;
			if (syscall(SYS_io_submit, context, 1L, list) != 1)
				fail("io_submit");
			outstanding++;
			while (r->wait == 'o' && !seen)
				outstanding -= reap(context, 1, i, &seen);
			if (outstanding)
				outstanding -= reap(context, 0, 0, NULL);
		}
		before = now();
	}
	while (outstanding)
		outstanding -= reap(context, 1, 0, NULL);
	close(done);
	exit(read(end, data, 1) != 0);
}

int main(int argc, char **argv)
{
	int status, failed = 0, done[2], end[2];
	char byte;
	if (argc != 2)
		return 2;
	read_plan();
	if (pipe(done) < 0 || pipe(end) < 0)
		fail("pipe");
	long long clock = now();
	/* Whole ticks of 100, 250 and 1000 Hz: they fall on multiples of 1/HZ of this clock. */
	start = (clock + START_NS) / TICKS_NS * TICKS_NS;
	printf("start %llu\n", (unsigned long long)__rdtsc() + start - clock);
	fflush(stdout);
	for (int proc = 0; proc < PROCESSES; proc++)
		if (processes[proc].used) {
			pid_t child = fork();
			if (child < 0)
				fail("fork");
			if (!child) {
				close(end[1]);
				run(argv[1], proc, done[1], end[0]);
			}
		}
	close(done[1]);
	while (read(done[0], &byte, 1) > 0)
		;
	close(end[1]);
	while (wait(&status) > 0)
		failed |= status != 0;
	return failed;
}
