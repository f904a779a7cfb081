"""SQLAlchemy's ORM."""

import asyncio
import os
import uuid

import pytest
from sqlalchemy import BigInteger, Numeric, Text, Uuid, create_engine, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.orm.attributes import flag_modified

from conftest import drain, recipe

PROJECT = uuid.uuid4()


class Base(DeclarativeBase):
    pass


class Task(Base):
    __tablename__ = "tasks"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    project_id: Mapped[uuid.UUID] = mapped_column(Uuid)
    title: Mapped[str] = mapped_column(Text)
    # Only Brocot writes them.
    rank = mapped_column(Numeric)
    rank_num = mapped_column(BigInteger)
    rank_den = mapped_column(BigInteger)


MOVE = text("SELECT brocot.move(:list, :item, first => true, ordered_table => 'public.tasks')")


@pytest.fixture
def session(connection):
    engine = create_engine(os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://"))
    with Session(engine) as session:
        session.add_all([Task(id=number, project_id=PROJECT, title=letter) for number, letter in enumerate("abc")])
        session.commit()
        drain()
        yield session
    engine.dispose()


def titles(session):
    return "".join(session.scalars(select(Task.title).where(Task.project_id == PROJECT).order_by(Task.rank)))


def test_rows_are_moved_and_paged(session):
    session.execute(MOVE, {"list": PROJECT, "item": 2})
    session.commit()
    drain()
    assert titles(session) == "cab"
    first = session.scalars(select(Task).order_by(Task.rank).limit(2)).all()
    rest = session.scalars(select(Task.title).where(Task.rank > first[-1].rank).order_by(Task.rank)).all()
    assert rest == ["b"]


def test_an_outdated_row_that_is_saved_whole_undoes_no_move(session):
    task = session.get(Task, 2)
    values = {name: getattr(task, name) for name in ["project_id", "rank", "rank_num", "rank_den"]}
    session.execute(MOVE, {"list": PROJECT, "item": 2})
    session.commit()
    drain()
    session.execute(Task.__table__.update().where(Task.id == 2).values(title="C", **values))
    session.commit()
    assert titles(session) == "Cab"


def test_rows_that_are_there_already_are_left_alone(session):
    rows = [{"id": 0, "project_id": PROJECT, "title": "x"}, {"id": 3, "project_id": PROJECT, "title": "d"}]
    session.execute(insert(Task).on_conflict_do_nothing(), rows)
    session.commit()
    drain()
    assert titles(session) == "abcd"


def test_a_row_that_changes_its_list_is_last_there(session):
    other = uuid.uuid4()
    session.get(Task, 0).project_id = other
    session.get(Task, 2).project_id = other
    session.commit()
    drain()
    assert titles(session) == "b"
    assert session.scalars(select(Task.title).where(Task.project_id == other).order_by(Task.rank)).all() == ["a", "c"]


RECIPE_IMPORTS = """
from decimal import Decimal
from sqlalchemy import BigInteger, FetchedValue, Numeric, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
class Base(DeclarativeBase): pass
"""


def run_recipe(**replacements):
    """What the recipe defines, with other parameters if they are given."""
    code, names = recipe("SQLAlchemy", "python"), {}
    for parameter, replacement in replacements.items():
        assert f":{parameter}," in code
        code = code.replace(f":{parameter},", f"{replacement},")
    exec(RECIPE_IMPORTS + code, names)
    return names


def test_the_recipe_with_psycopg(tasks_of_recipes):
    names = run_recipe()
    engine = create_engine(os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://"))
    with Session(engine) as session:
        names["move"](session, session.get(names["Task"], 43), after=40)
        session.commit()
        drain()
        assert [task.id for task in session.scalars(names["in_order"])] == [40, 43, 41, 42]
    engine.dispose()


def test_the_recipe_with_asyncpg_and_its_casts(tasks_of_recipes):
    names = run_recipe(project="CAST(:project AS bigint)", task="CAST(:task AS bigint)")
    move, Task = names["move"], names["Task"]

    async def scenario():
        engine = create_async_engine(os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+asyncpg://"))
        async with AsyncSession(engine) as session:
            task = await session.get(Task, 43)
            await session.run_sync(move, task, after=40)
            await session.run_sync(move, await session.get(Task, 42), at=0)
            await session.commit()
            await asyncio.to_thread(drain)
            order = [task.id for task in await session.scalars(names["in_order"])]
        async with AsyncSession(engine, expire_on_commit=False) as session:
            task = await session.get(Task, 43)
            flag_modified(task, "project_id")
            await session.commit()
            # No statement may be needed to read the rank after an UPDATE.
            rank = task.rank
        await engine.dispose()
        return order, rank

    order, rank = asyncio.run(scenario())
    assert order == [42, 40, 43, 41]
    assert rank is not None
