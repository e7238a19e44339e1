"""What the prompts of the shipped set ask for, found by trying everything: graphs, plans, sums, grids, shapes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

Z = dict[str, Any]


def subsets(items: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    pool = list(items)
    return (chosen for size in range(len(pool) + 1) for chosen in itertools.combinations(pool, size))


def components(vertices: Iterable[Any], edges: Iterable[Any]) -> int:
    sets = [{vertex} for vertex in vertices]
    for u, v, *_ in edges:
        joined = [one for one in sets if u in one or v in one]
        sets = [one for one in sets if one not in joined] + [set().union(*joined)]
    return len(sets)


# --------------------------------------------------------------------------- graphs


def delivery_route(z: Z) -> int:
    """Every road relaxed as often as there are crossings."""
    distance = {z["start"]: 0}
    for _ in range(z["n"]):
        for u, v, minutes in z["roads"]:
            for a, b in ((u, v), (v, u)):
                if a in distance:
                    distance[b] = min(distance.get(b, 10**9), distance[a] + minutes)
    return distance[z["goal"]]


def cable_network(z: Z) -> int | None:
    """Grown from building 0 by the cheapest trench that leads out; None where nothing leads on."""
    reached, total = {0}, 0
    while len(reached) < z["n"]:
        leading = [(price, u, v) for u, v, price in z["trenches"] if (u in reached) != (v in reached)]
        if not leading:
            return None
        price, u, v = min(leading)
        reached |= {u, v}
        total += price
    return total


def relay_messages(z: Z) -> int:
    neighbours: dict[int, set[int]] = {}
    for u, v in z["links"]:
        neighbours.setdefault(u, set()).add(v)
        neighbours.setdefault(v, set()).add(u)
    paths = [(z["source"],)]
    while not any(path[-1] == z["target"] for path in paths):
        paths = [(*path, v) for path in paths for v in neighbours[path[-1]] if v not in path]
    return sum(path[-1] == z["target"] for path in paths)


def closed_station(z: Z) -> int:
    left = [station for station in range(z["n"]) if station != z["closed"]]
    return components(left, [line for line in z["lines"] if z["closed"] not in line])


def longest_trail(z: Z) -> int:
    n = z["n"]
    far = [[0 if u == v else 10**9 for v in range(n)] for u in range(n)]
    for u, v, km in z["trails"]:
        far[u][v] = far[v][u] = km
    for k, i, j in itertools.product(range(n), repeat=3):
        far[i][j] = min(far[i][j], far[i][k] + far[k][j])
    return max(map(max, far))


def one_way_streets(z: Z) -> int:
    reached = {z["start"]}
    for _ in range(z["n"]):
        reached |= {v for u, v in z["streets"] if u in reached}
    return len(reached)


def corridor_guards(z: Z) -> int:
    return next(
        len(halls) for halls in subsets(range(z["n"])) if all(u in halls or v in halls for u, v in z["corridors"])
    )


def shift_roster(z: Z) -> int:
    @cache
    def most(person: int, taken: frozenset[int]) -> int:
        if person == len(z["wishes"]):
            return 0
        free = [shift for shift in z["wishes"][person] if shift not in taken]
        return max([most(person + 1, taken), *(1 + most(person + 1, taken | {shift}) for shift in free)])

    return most(0, frozenset())


def friend_groups(z: Z) -> int:
    return components(range(z["n"]), z["pairs"])


# --------------------------------------------------------------------------- plans


def project_plan(z: Z) -> int:
    """Day by day: what can run does."""
    left, finished, day = list(z["days"]), set[int](), 0
    while len(finished) < len(left):
        running = [task for task, waits in enumerate(z["waits"]) if task not in finished and finished.issuperset(waits)]
        for task in running:
            left[task] -= 1
        finished |= {task for task in running if left[task] == 0}
        day += 1
    return day


def hall_bookings(z: Z) -> int:
    return max(
        sum(fee for _, _, fee in chosen)
        for chosen in subsets(z["requests"])
        if all(a[1] <= b[0] or b[1] <= a[0] for a, b in itertools.combinations(chosen, 2))
    )


def meeting_rooms(z: Z) -> int:
    return max(sum(start <= hour < end for start, end in z["meetings"]) for hour in range(24))


def printer_queue(z: Z) -> int:
    def cost(order: tuple[list[int], ...]) -> int:
        ends = itertools.accumulate(minutes for minutes, _ in order)
        return sum(end * penalty for end, (_, penalty) in zip(ends, order, strict=True))

    return min(cost(order) for order in itertools.permutations(z["jobs"]))


def two_trucks(z: Z) -> int:
    total = sum(z["weights"])
    return min(max(sum(chosen), total - sum(chosen)) for chosen in subsets(z["weights"]))


def oven_rests(z: Z) -> int:
    """All schedules of so many hours, hour by hour, until one has no tray left."""
    rest = z["rest"]
    kinds = sorted(set(z["trays"]))
    states = {(tuple(z["trays"].count(kind) for kind in kinds), (0,) * len(kinds))}
    for hour in itertools.count():
        if any(not any(left) for left, _ in states):
            return hour
        following = set()
        for left, waiting in states:
            cooled = tuple(max(0, hours - 1) for hours in waiting)
            ready = [i for i in range(len(kinds)) if left[i] and not waiting[i]]
            if not ready:  # to stand still with something to bake never helps
                following.add((left, cooled))
            for i in ready:
                fewer = (*left[:i], left[i] - 1, *left[i + 1 :])
                following.add((fewer, (*cooled[:i], rest, *cooled[i + 1 :])))
        states = following
    raise AssertionError("never done")


def waiting_room(z: Z) -> list[int]:
    return [number for urgency in range(9, 0, -1) for number, own in z["patients"] if own == urgency]


# --------------------------------------------------------------------------- sums


def vending_change(z: Z) -> int:
    totals, coins = {0}, 0
    while z["amount"] not in totals:
        totals = {total + coin for total in totals for coin in z["coins"] if total + coin <= z["amount"]}
        coins += 1
    return coins


def rising_prices(z: Z) -> int:
    prices = z["prices"]

    @cache
    def longest(place: int) -> int:
        return 1 + max((longest(k) for k in range(place + 1, len(prices)) if prices[k] > prices[place]), default=0)

    return max(longest(place) for place in range(len(prices)))


def ring_of_lamps(z: Z) -> int:
    n = len(z["values"])
    return max(
        sum(z["values"][i] for i in lit) for lit in subsets(range(n)) if not any((i + 1) % n in lit for i in lit)
    )


def staircase(z: Z) -> int:
    @cache
    def ways(steps: int) -> int:
        return 1 if steps == 0 else sum(ways(steps - stride) for stride in z["strides"] if stride <= steps)

    return ways(z["n"]) % 1000003


def matrix_product_cost(z: Z) -> int:
    @cache
    def cost(sizes: tuple[int, ...]) -> int:
        """Contract one inner size after the other, in any order."""
        if len(sizes) == 2:
            return 0
        return min(
            sizes[i - 1] * sizes[i] * sizes[i + 1] + cost((*sizes[:i], *sizes[i + 1 :]))
            for i in range(1, len(sizes) - 1)
        )

    return cost(tuple(z["sizes"]))


def stamp_sheets(z: Z) -> int:
    def ways(postage: int, stamps: list[int]) -> int:
        if not stamps:
            return int(postage == 0)
        return sum(ways(postage - used, stamps[1:]) for used in range(0, postage + 1, stamps[0]))

    return ways(z["postage"], z["stamps"])


def best_streak(z: Z) -> int:
    days = len(z["profits"])
    return max(sum(z["profits"][i:j]) for i in range(days) for j in range(i + 1, days + 1))


def lucky_subsets(z: Z) -> int:
    return sum(sum(chosen) == z["target"] for chosen in subsets(z["cards"]))


# --------------------------------------------------------------------------- grids and shapes


def mountain_path(z: Z) -> int:
    grid = z["grid"]
    down, right = len(grid) - 1, len(grid[0]) - 1
    efforts = []
    for turns in itertools.combinations(range(down + right), down):
        y = x = 0
        effort = grid[0][0]
        for step in range(down + right):
            y, x = (y + 1, x) if step in turns else (y, x + 1)
            effort += grid[y][x]
        efforts.append(effort)
    return min(efforts)


def lakes_on_map(z: Z) -> int:
    water = [(x, y) for y, row in enumerate(z["rows"]) for x, square in enumerate(row) if square == "~"]
    touching = [(a, b) for a, b in itertools.combinations(water, 2) if abs(a[0] - b[0]) < 2 and abs(a[1] - b[1]) < 2]
    return components(water, touching)


def mouse_in_maze(z: Z) -> int:
    free = {(x, y) for y, row in enumerate(z["rows"]) for x, square in enumerate(row) if square == "."}
    goal = (len(z["rows"][0]) - 1, len(z["rows"]) - 1)
    at, moves = {(0, 0)}, 0
    while goal not in at:
        wider = {(x + dx, y + dy) for x, y in at for dx, dy in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))} & free
        if wider == at:
            return -1
        at, moves = wider, moves + 1
    return moves


def cell_colony(z: Z) -> int:
    size = len(z["rows"])
    rows = ["." * (size + 2), *(f".{row}." for row in z["rows"]), "." * (size + 2)]
    for _ in range(z["generations"]):
        new = [["."] * (size + 2) for _ in range(size + 2)]
        for y, x in itertools.product(range(1, size + 1), repeat=2):
            around = "".join(row[x - 1 : x + 2] for row in rows[y - 1 : y + 2]).count("*") - (rows[y][x] == "*")
            if around == 3 or (around == 2 and rows[y][x] == "*"):
                new[y][x] = "*"
        rows = ["".join(row) for row in new]
    return "".join(rows).count("*")


def garden_plot(z: Z) -> int:
    """Pick's theorem: twice the area is twice the points inside, plus those on the edge, less two."""
    corners = [tuple(corner) for corner in z["corners"]]
    sides = list(zip(corners, [*corners[1:], corners[0]], strict=True))
    xs, ys = zip(*corners, strict=True)
    inside = edge = 0
    for x in range(min(xs), max(xs) + 1):
        for y in range(min(ys), max(ys) + 1):
            if any(_on_side(x, y, a, b) for a, b in sides):
                edge += 1
            elif sum(_above(x, y, a, b) for a, b in sides) % 2:
                inside += 1
    return 2 * inside + edge - 2


def _on_side(x: int, y: int, a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    between = min(a[0], b[0]) <= x <= max(a[0], b[0]) and min(a[1], b[1]) <= y <= max(a[1], b[1])
    return between and (b[0] - a[0]) * (y - a[1]) == (b[1] - a[1]) * (x - a[0])


def _above(x: int, y: int, a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether the side is above the point: an odd number of such sides means inside."""
    (ax, ay), (bx, by) = sorted((a, b))
    return ax <= x < bx and (by - ay) * (x - ax) > (y - ay) * (bx - ax)


def nearest_taxis(z: Z) -> int:
    return min(abs(a - c) + abs(b - d) for (a, b), (c, d) in itertools.combinations(z["places"], 2))


def posters_on_wall(z: Z) -> int:
    wall = itertools.product(range(60), repeat=2)
    return sum(any(left <= x < right and low <= y < top for left, low, right, top in z["posters"]) for x, y in wall)


def fence_posts(z: Z) -> int:
    """A tree is a bend unless it lies in a triangle (or on a line) of others."""
    trees = [tuple(tree) for tree in z["trees"]]

    def turn(p: tuple[int, ...], q: tuple[int, ...], r: tuple[int, ...]) -> int:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    def held(tree: tuple[int, ...], others: list[tuple[int, ...]]) -> bool:
        for p, q in itertools.combinations(others, 2):
            if turn(p, q, tree) == 0 and min(p, q) < tree < max(p, q):
                return True
        for p, q, r in itertools.combinations(others, 3):
            signs = [turn(p, q, tree), turn(q, r, tree), turn(r, p, tree)]
            if turn(p, q, r) and (min(signs) >= 0 or max(signs) <= 0):
                return True
        return False

    return sum(not held(tree, [other for other in trees if other != tree]) for tree in trees)


ASKED: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        delivery_route, cable_network, relay_messages, closed_station, longest_trail, one_way_streets, corridor_guards,
        shift_roster, friend_groups, project_plan, hall_bookings, meeting_rooms, printer_queue, two_trucks, oven_rests,
        waiting_room, vending_change, rising_prices, ring_of_lamps, staircase, matrix_product_cost, stamp_sheets,
        best_streak, lucky_subsets, mountain_path, lakes_on_map, mouse_in_maze, cell_colony, garden_plot, nearest_taxis,
        posters_on_wall, fence_posts,
    )
}  # fmt: skip


# --------------------------------------------------------------------------- tasks with several right answers


def ferry_path_is_right(z: Z, answer: str) -> bool:
    route = [int(token) for token in answer.split()]
    links = {(u, v) for u, v in z["ferries"]} | {(v, u) for u, v in z["ferries"]}
    at, fewest = {z["start"]}, 0
    while z["goal"] not in at:
        at, fewest = at | {v for u, v in links if u in at}, fewest + 1
    ends = (route[0], route[-1]) == (z["start"], z["goal"])
    return ends and links.issuperset(itertools.pairwise(route)) and len(route) == fewest + 1


def recipe_order_is_right(z: Z, answer: str) -> bool:
    order = answer.replace(" ", "")
    return sorted(order) == z["steps"] and all(order.index(a) < order.index(b) for a, b in z["rules"])


def balance_weights_is_right(z: Z, answer: str) -> bool:
    left, chosen = list(z["weights"]), [int(token) for token in answer.split()]
    for weight in chosen:
        if weight not in left:
            return False
        left.remove(weight)
    return sum(chosen) == z["target"]


def congruence_is_right(z: Z, answer: str) -> bool:
    return int(answer) in range(z["m"]) and z["a"] * int(answer) % z["m"] == z["b"]


RIGHT: dict[str, Callable[[Z, str], bool]] = {
    "ferry_path": ferry_path_is_right,
    "recipe_order": recipe_order_is_right,
    "balance_weights": balance_weights_is_right,
    "congruence": congruence_is_right,
}
